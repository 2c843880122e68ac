-- Removes a finished task with every row that names it.
-- KEYS  1 task, 2 log, 3 leases, 4 ready, 5 end, 6-9 index (scope, context, state, state in context), 10 dedupe keys of its follow-ups,
--       11 push configs, 12 progress and 13 due of its deliveries, then checkpoint parts, then dedupe rows: of the task, of its follow-ups
-- ARGV  1 id, 2 checkpoint pointer and 3 dedupe key that the keys were named after, 4 number of parts, 5 number of follow-ups' keys
-- Reply 1 | 0 (not finished, or the record has changed: look again)
local task = redis.call('HMGET', KEYS[1], 'kd', 'ix', 'cp', 'dk')
if not task[1] then
  redis.call('ZREM', KEYS[5], ARGV[1])
  return 0
end
if task[1] ~= 't' or (task[3] or '') ~= ARGV[2] or (task[4] or '') ~= ARGV[3] then return 0 end
if redis.call('SCARD', KEYS[10]) ~= tonumber(ARGV[5]) then return 0 end
local rows = 14 + ARGV[4]
for at = 6, 9 do redis.call('ZREM', KEYS[at], task[2]) end
for at = rows, #KEYS do
  local row = redis.call('GET', KEYS[at])
  if row and string.match(row, '(%S+)') == ARGV[1] then redis.call('DEL', KEYS[at]) end
end
for at = 14, rows - 1 do redis.call('UNLINK', KEYS[at]) end
for at = 3, 5 do redis.call('ZREM', KEYS[at], ARGV[1]) end
redis.call('ZREM', KEYS[13], ARGV[1])
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[10], KEYS[11], KEYS[12])
return 1
