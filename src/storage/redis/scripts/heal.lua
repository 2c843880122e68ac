-- Writes the lost end of a log again as it was, where the log ends at an entry that its owner still has.
-- KEYS  1 task, 2 log, 3 leases, 4 ready, 5 end, 6 due, 7-12 index (see reindex)
-- ARGV  1 id, 2 epoch, 3 token, 4 consumed, 5 offset of the pending cancel, 6 state, 7 its kind, 8 status time, 9 head, 10 history length,
--       11 index row, 12 the state that the index keys were named after, 13 retention of the kind, 14 publish command, 15 channel,
--       then offset, mark, epoch, time, kind, bytes, format of each entry that the owner has, without a gap, the last one its position
-- Reply OK | AGAIN (nothing is missing) | DIVERGED | FENCED | SEALED | RETRY state
local FIRST, STEP, REMEMBERED = 16, 7, 64 * 8
local task = redis.call('HMGET', KEYS[1], 'tk', 'ep', 'kd', 'nx', 'mk', 'lc', 'gn', 'by', 'co', 'st', 'ix', 'am', 'wh', 'dt')
if not task[2] then return { 'FENCED' } end
if task[3] == 't' then return { 'SEALED' } end
if task[1] == '' or task[1] ~= ARGV[3] or task[2] ~= ARGV[2] then return { 'FENCED' } end
local last = tonumber(task[4])
local final = #ARGV - STEP + 1
if last >= tonumber(ARGV[final]) then
  local at = redis.call('XRANGE', KEYS[2], ARGV[final] .. '-0', ARGV[final] .. '-0')
  return { (#at > 0 and markof(at[1]) == ARGV[final + 1]) and 'AGAIN' or 'DIVERGED' }
end
local from = FIRST + (last - tonumber(ARGV[FIRST])) * STEP
if from < FIRST or ARGV[from + 1] ~= task[5] then return { 'DIVERGED' } end
if task[10] ~= ARGV[12] then return { 'RETRY', task[10] } end

local now = clock()
local offset, mark, total, generation, command = last, task[5], tonumber(task[8]), tonumber(task[7]), tonumber(task[6])
local before, size = last .. '.' .. task[5], total
local marks = task[12] or ''
for at = from + STEP, #ARGV, STEP do
  offset, mark = tonumber(ARGV[at]), ARGV[at + 1]
  total = total + #ARGV[at + 5]
  if ARGV[at + 4] == 'e' then
    generation = generation + 1
  elseif ARGV[at + 4] == 'c' then
    command = offset
    -- The answer to its sender, who may not have heard it: a repeat is no second command.
    marks = marks .. mark
    if #marks > REMEMBERED then
      redis.call('HDEL', KEYS[1], 'am:' .. string.sub(marks, 1, 8))
      marks = string.sub(marks, 9)
    end
    redis.call('HSET', KEYS[1], 'am', marks, 'am:' .. mark, offset .. ' 1 ' .. ARGV[at + 2] .. ' ')
  end
  add(KEYS[2], offset, ARGV[at + 4], mark, ARGV[at + 2], ARGV[at + 3], total, ARGV[at + 5], ARGV[at + 6])
end
redis.call('HSET', KEYS[1], 'nx', offset, 'mk', mark, 'gn', generation, 'by', total, 'lc', command, 'cr', ARGV[5])
if tonumber(ARGV[4]) > tonumber(task[9]) then redis.call('HSET', KEYS[1], 'co', ARGV[4], 'bg', 1, 'at', 1) end
redis.call('HSET', KEYS[1], 'st', ARGV[6], 'kd', ARGV[7], 'ts', ARGV[8], 'hd', ARGV[9], 'hl', ARGV[10], 'ix', ARGV[11])
reindex(7, task[11], ARGV[11])
if ARGV[7] == 'i' then redis.call('HSET', KEYS[1], 'bg', 0, 'at', 0) end
if ARGV[7] == 't' then
  redis.call('HSET', KEYS[1], 'tk', '', 'rp', '')
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[4], ARGV[1])
end
if ARGV[7] == 'r' then
  redis.call('ZREM', KEYS[5], ARGV[1])
else
  redis.call('ZADD', KEYS[5], now + ARGV[13], ARGV[1])
end
-- Readers that have them already pass them over, the others fetch them.
publish(ARGV[14], ARGV[15], before, offset .. '.' .. mark, ARGV[7] == 't', task[2], now, {}, total - size)
deliver(KEYS[6], ARGV[1], task[13], task[14])
return { 'OK' }
