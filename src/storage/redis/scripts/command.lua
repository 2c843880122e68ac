-- A command of a caller, with the event that it brings about where nobody who owns the task would.
-- KEYS  1 task, 2 log, 3 leases, 4 ready, 5 end, 6 dedupe row (the task's key where there is none), 7 dedupe keys of its follow-ups,
--       8 due, 9-14 index (see reindex) where an event comes along, then push configs and progress where one comes along
-- ARGV  1 id, 2 what (message or cancel), 3 mark, 4 bytes, 5 repeat mode, 6 window ms, 7 dedupe key, 8 offset and 9 mark of the caller's
--       position, 10 token, 11 replica, 12 lease ms, 13 publish command, 14 events channel, 15 publish command of hints, 16 wake channel,
--       17 inbox channels' common beginning, 18 mark of the event ('' for none), 19 its bytes, 20 new state, 21 its kind, 22 status time,
--       23 head, 24 history length, 25 index row, 26 the state that the index keys were named after, 27 retention of the new kind,
--       then id, bytes of a push config and how many the task may have
-- Reply OK offset owned epoch token ('' without lease) due (1 where something is) | REPEAT offset | NOT_FOUND | SEALED | STALE | FULL | RETRY state
local REMEMBERED = 64 * 8
local task = redis.call('HMGET', KEYS[1], 'kd', 'ep', 'tk', 'rp', 'nx', 'mk', 'lc', 'ts', 'gn', 'by', 'st', 'ix', 'at', 'am',
  'am:' .. ARGV[3], 'wh', 'dt', 'fv')
local kind, epoch, last, mark = task[1], tonumber(task[2]), tonumber(task[5]), task[6]
if not kind then return { 'NOT_FOUND' } end
if task[15] then
  local offset, owned, at, token = string.match(task[15], '(%S+) (%S+) (%S+) (%S*)')
  return { 'OK', offset, owned, at, token }
end
local now = clock()
if ARGV[5] ~= '' then
  local row = redis.call('GET', KEYS[6])
  if row then
    local _, offset, at = string.match(row, '(%S+) (%S+) (%S+)')
    local joins = kind == 'r'
    if ARGV[5] == 'window' then joins = now - tonumber(at) < tonumber(ARGV[6]) end
    if joins then return { 'REPEAT', offset } end
  end
end
if kind == 't' then return { 'SEALED' } end
local expires = task[3] ~= '' and redis.call('ZSCORE', KEYS[3], ARGV[1])
local owned = expires and tonumber(expires) > now
local message = ARGV[2] == 'message'
local needs = not owned
if message then needs = kind == 'i' end
-- A cancel brings its event along in case it is needed; a message says by it that it knows the task to be interrupted.
local has = ARGV[18] ~= ''
if needs ~= has and (message or needs) then return { 'STALE' } end
local changes = needs and has
if changes then
  if task[5] ~= ARGV[8] or mark ~= ARGV[9] then return { 'STALE' } end
  if tonumber(ARGV[22]) < tonumber(task[8]) then return { 'STALE' } end
  if task[11] ~= ARGV[26] then return { 'RETRY', task[11] } end
end
if ARGV[28] and full(KEYS[#KEYS - 1], ARGV[28], ARGV[30]) then return { 'FULL' } end

local before = last .. '.' .. mark
local id = ARGV[1]
local ours = message and kind == 'i' and not owned
local token = ''
if ours then
  redis.call('HSET', KEYS[1], 'tk', '', 'rp', '', 'bg', 0, 'at', 0)
  redis.call('ZREM', KEYS[3], id)
  if ARGV[10] ~= '' then
    token = ARGV[10]
    epoch = epoch + 1
    redis.call('HSET', KEYS[1], 'ep', epoch, 'tk', token, 'rp', ARGV[11], 'at', 1)
    redis.call('ZREM', KEYS[4], id)
    redis.call('ZADD', KEYS[3], now + ARGV[12], id)
  end
end
local entries = { 'c', ARGV[3], ARGV[4] }
if changes and message then entries = { 'e', ARGV[18], ARGV[19], 'c', ARGV[3], ARGV[4] } end
if changes and not message then entries = { 'c', ARGV[3], ARGV[4], 'e', ARGV[18], ARGV[19] } end
local offset, total, generation, command = last, tonumber(task[10]), tonumber(task[9]), 0
local size = total
for at = 1, #entries, 3 do
  offset = offset + 1
  mark = entries[at + 1]
  total = total + #entries[at + 2]
  if entries[at] == 'e' then generation = generation + 1 else command = offset end
  add(KEYS[2], offset, entries[at], mark, epoch, now, total, entries[at + 2])
end
redis.call('HSET', KEYS[1], 'nx', offset, 'mk', mark, 'gn', generation, 'by', total, 'lc', command)
note(KEYS[1], task[18])
if not message then redis.call('HSET', KEYS[1], 'cr', command) end
if changes then
  redis.call('HSET', KEYS[1], 'st', ARGV[20], 'kd', ARGV[21], 'ts', ARGV[22], 'hd', ARGV[23], 'hl', ARGV[24], 'ix', ARGV[25])
  reindex(9, task[12], ARGV[25])
  if ARGV[21] == 't' then
    redis.call('HSET', KEYS[1], 'tk', '', 'rp', '')
    redis.call('ZREM', KEYS[3], id)
    redis.call('ZREM', KEYS[4], id)
    redis.call('ZADD', KEYS[5], now + ARGV[27], id)
  else
    redis.call('ZREM', KEYS[5], id)
  end
end
local due = deliver(KEYS[8], id, task[16], task[17])
if ARGV[28] then
  redis.call('HSET', KEYS[#KEYS - 1], ARGV[28], ARGV[29])
  -- It gets what this message brought about too.
  local attached = attach(KEYS[1], KEYS[#KEYS], KEYS[8], id, ARGV[28], before, false)
  if attached ~= '' then due = attached end
end
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[6], id .. ' ' .. offset .. ' ' .. string.format('%.0f', now))
  redis.call('SADD', KEYS[7], ARGV[7])
end
-- The answer, for the repeat of this attempt; of many, the latest.
local marks = (task[14] or '') .. ARGV[3]
if #marks > REMEMBERED then
  redis.call('HDEL', KEYS[1], 'am:' .. string.sub(marks, 1, 8))
  marks = string.sub(marks, 9)
end
local said = owned and '1' or '0'
redis.call('HSET', KEYS[1], 'am', marks, 'am:' .. ARGV[3], offset .. ' ' .. said .. ' ' .. epoch .. ' ' .. token)
publish(ARGV[13], ARGV[14], before, offset .. '.' .. mark, changes and ARGV[21] == 't', epoch, now, entries, total - size)
if owned then
  redis.call(ARGV[15], ARGV[17] .. task[4], id)
elseif ours and token == '' then
  redis.call('ZADD', KEYS[4], now, id)
  redis.call(ARGV[15], ARGV[16], id)
end
return { 'OK', offset, said, epoch, token, due }
