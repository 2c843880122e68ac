-- A batch of the owner: all entries or none.
-- KEYS  1 task, 2 log, 3 leases, 4 ready, 5 end, 6 due, 7-12 index where the status changes (see reindex)
-- ARGV  1 id, 2 epoch, 3 token, 4 offset and 5 mark of the owner's position, 6 consumed, 7 whether to refuse PENDING, 8 publish command,
--       9 channel, 10 new state ('' where the status does not change), 11 its kind, 12 status time, 13 head, 14 history length,
--       15 index row, 16 the state that the index keys were named after, 17 retention of the new kind,
--       then kind, mark, bytes of each entry
-- Reply OK offset epoch time due (1 where something is) | AGAIN, the same: this batch was written before | FENCED | SEALED | PENDING | STALE | RETRY state (name the index keys after that state)
local FIRST = 18
local task = redis.call('HMGET', KEYS[1], 'tk', 'ep', 'kd', 'nx', 'mk', 'bm', 'bt', 'lc', 'ts', 'gn', 'by', 'co', 'st', 'ix', 'wh', 'dt', 'fv')
local token, epoch, kind, last, mark = task[1], task[2], task[3], task[4], task[5]
if not epoch then return { 'FENCED' } end
if task[6] == ARGV[FIRST + 1] then
  local offset, at, time = string.match(task[7], '(%S+) (%S+) (%S+)')
  return { 'AGAIN', offset, at, time }
end
if kind == 't' then return { 'SEALED' } end
if token == '' or token ~= ARGV[3] or epoch ~= ARGV[2] then return { 'FENCED' } end
if last ~= ARGV[4] or mark ~= ARGV[5] then return { 'STALE' } end
local consumed = tonumber(ARGV[6])
if ARGV[7] == '1' and tonumber(task[8]) > consumed then return { 'PENDING' } end
local changes = ARGV[10] ~= ''
if changes then
  if tonumber(ARGV[12]) < tonumber(task[9]) then return { 'STALE' } end
  if task[13] ~= ARGV[16] then return { 'RETRY', task[13] } end
end

local now = clock()
local first = last + 1
local offset, total, generation, command = tonumber(last), tonumber(task[11]), tonumber(task[10]), tonumber(task[8])
local before = total
local entries = {}
for at = FIRST, #ARGV, 3 do
  offset = offset + 1
  mark = ARGV[at + 1]
  total = total + #ARGV[at + 2]
  if ARGV[at] == 'e' then generation = generation + 1 elseif ARGV[at] == 'c' then command = offset end
  add(KEYS[2], offset, ARGV[at], mark, epoch, now, total, ARGV[at + 2])
  entries[#entries + 1] = ARGV[at]
  entries[#entries + 1] = mark
  entries[#entries + 1] = ARGV[at + 2]
end
redis.call('HSET', KEYS[1], 'nx', offset, 'mk', mark, 'gn', generation, 'by', total, 'lc', command, 'bm', ARGV[FIRST + 1],
  'bt', first .. ' ' .. epoch .. ' ' .. string.format('%.0f', now))
note(KEYS[1], task[17])
if consumed > tonumber(task[12]) then redis.call('HSET', KEYS[1], 'co', consumed, 'bg', 1, 'at', 1) end
if changes then
  redis.call('HSET', KEYS[1], 'st', ARGV[10], 'kd', ARGV[11], 'ts', ARGV[12], 'hd', ARGV[13], 'hl', ARGV[14], 'ix', ARGV[15])
  reindex(7, task[14], ARGV[15])
  if ARGV[11] == 'i' then redis.call('HSET', KEYS[1], 'bg', 0, 'at', 0) end
  if ARGV[11] == 't' then
    redis.call('HSET', KEYS[1], 'tk', '', 'rp', '')
    redis.call('ZREM', KEYS[3], ARGV[1])
    redis.call('ZREM', KEYS[4], ARGV[1])
  end
  if ARGV[11] ~= 'r' then
    redis.call('ZADD', KEYS[5], now + ARGV[17], ARGV[1])
  elseif kind == 'i' then
    redis.call('ZREM', KEYS[5], ARGV[1])
  end
end
publish(ARGV[8], ARGV[9], ARGV[4] .. '.' .. ARGV[5], offset .. '.' .. mark, ARGV[11] == 't', epoch, now, entries, total - before)
return { 'OK', first, epoch, string.format('%.0f', now), deliver(KEYS[6], ARGV[1], task[15], task[16]) }
