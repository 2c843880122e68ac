-- Stores a push config, in the place of the one with the same id.
-- KEYS  1 task, 2 push configs, 3 progress, 4 due
-- ARGV  1 id, 2 bytes, 3 how many the task may have, 4 id of the task
-- Reply OK 1 (something is due) or '' | NOT_FOUND | FULL
local task = redis.call('HMGET', KEYS[1], 'nx', 'mk', 'kd')
if not task[1] then return { 'NOT_FOUND' } end
if full(KEYS[2], ARGV[1], ARGV[3]) then return { 'FULL' } end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return { 'OK', attach(KEYS[1], KEYS[3], KEYS[4], ARGV[4], ARGV[1], task[1] .. '.' .. task[2], task[3] == 't') }
