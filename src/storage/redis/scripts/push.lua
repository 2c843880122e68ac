-- Stores a push config, in the place of the one with the same id.
-- KEYS  1 task, 2 push configs
-- ARGV  1 id, 2 bytes, 3 how many the task may have
-- Reply OK | NOT_FOUND | FULL
if redis.call('EXISTS', KEYS[1]) == 0 then return 'NOT_FOUND' end
if full(KEYS[2], ARGV[1], ARGV[3]) then return 'FULL' end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 'OK'
