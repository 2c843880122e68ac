#!lua flags=allow-oom
-- Removes a push config. Whoever delivers for it is told when it reports.
-- KEYS  1 task, 2 push configs, 3 progress
-- ARGV  1 id
-- Reply OK
local known = redis.call('HGET', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
if known and string.sub(known, 1, 1) == 'a' then redis.call('HINCRBY', KEYS[1], 'wh', -1) end
return 'OK'
