-- A new task: record, log, index rows, dedupe row, and the lease or a place in `ready`.
-- KEYS  1 task, 2 log, 3 leases, 4 ready, 5 end, 6-9 index (scope, context, state, state in context), 10 dedupe row, 11 task that the row names
--       (10 and 11 are the task's own key where there is none), 12 due, 13 push configs and 14 progress where one comes along
-- ARGV  1 id, 2 tenant, 3 owner, 4 context, 5 state, 6 kind of state (r running, i interrupted, t terminal), 7 status time, 8 head,
--       9 history length, 10 index row, 11 retention of that kind, 12 token, 13 replica, 14 lease ms, 15 repeat mode, 16 window ms,
--       17 task that key 11 is of, 18 dedupe key, 19 publish command for `wake`, 20 wake channel, 21 whether confirmation comes later,
--       then kind, mark, bytes of each entry, and p, id, bytes of a push config
-- Reply OK epoch time due (1 where something is) | AGAIN, the same: this task was created before | REPEAT task offset | RETRY task (declare that task's key)
local FIRST = 22
local known = redis.call('HGET', KEYS[1], 'cn')
if known then
  local epoch, time = string.match(known, '(%S+) (%S+)')
  return { 'AGAIN', epoch, time }
end
local now = clock()
if ARGV[15] ~= '' then
  local row = redis.call('GET', KEYS[10])
  if row then
    local first, offset, at = string.match(row, '(%S+) (%S+) (%S+)')
    local joins
    if ARGV[15] == 'window' then
      joins = now - tonumber(at) < tonumber(ARGV[16])
    else
      if first ~= ARGV[17] then return { 'RETRY', first } end
      joins = redis.call('HGET', KEYS[11], 'kd') == 'r'
    end
    if joins then return { 'REPEAT', first, offset } end
  end
end

local id, kind, token = ARGV[1], ARGV[6], ARGV[12]
local leased = token ~= '' and kind ~= 't'
local epoch = token ~= '' and 1 or 0
local total, offset, generation, command, mark = 0, 0, 0, 0, ''
local webhook
for at = FIRST, #ARGV, 3 do
  if ARGV[at] == 'p' then
    webhook = ARGV[at + 1]
    redis.call('HSET', KEYS[13], ARGV[at + 1], ARGV[at + 2])
  else
    offset = offset + 1
    mark = ARGV[at + 1]
    total = total + #ARGV[at + 2]
    if ARGV[at] == 'e' then generation = generation + 1 elseif ARGV[at] == 'c' then command = offset end
    add(KEYS[2], offset, ARGV[at], mark, epoch, now, total, ARGV[at + 2])
  end
end
redis.call('HSET', KEYS[1], 'tn', ARGV[2], 'ow', ARGV[3], 'cx', ARGV[4], 'st', ARGV[5], 'kd', kind, 'ts', ARGV[7], 'hd', ARGV[8],
  'hl', ARGV[9], 'ix', ARGV[10], 'nx', offset, 'mk', mark, 'gn', generation, 'by', total, 'ep', epoch, 'tk', leased and token or '',
  'rp', leased and ARGV[13] or '', 'co', 0, 'lc', command, 'cr', 0, 'at', (token ~= '' and kind ~= 'i') and 1 or 0, 'bg', 0, 'fo', 1,
  'fv', WRITES, 'cn', epoch .. ' ' .. string.format('%.0f', now))
if ARGV[21] == '1' then redis.call('HSET', KEYS[1], 'cf', 0) end
for at = 6, 9 do redis.call('ZADD', KEYS[at], 0, ARGV[10]) end
if ARGV[15] ~= '' then
  redis.call('SET', KEYS[10], id .. ' ' .. offset .. ' ' .. string.format('%.0f', now))
  redis.call('HSET', KEYS[1], 'dk', ARGV[18])
end
if kind ~= 'r' then redis.call('ZADD', KEYS[5], now + ARGV[11], id) end
if leased then
  redis.call('ZADD', KEYS[3], now + ARGV[14], id)
elseif kind ~= 't' then
  redis.call('ZADD', KEYS[4], now, id)
  redis.call(ARGV[19], ARGV[20], id)
end
-- Nothing of the turn is missed: not the task itself either.
local due = webhook and attach(KEYS[1], KEYS[14], KEYS[12], id, webhook, '0.', false) or ''
return { 'OK', epoch, string.format('%.0f', now), due }
