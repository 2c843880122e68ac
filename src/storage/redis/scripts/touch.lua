#!lua flags=allow-oom
-- A write that changes nothing which anybody reads: what waits for it to be confirmed knows that all before it is.
-- KEYS  1 task
-- Reply offset mark | NOT_FOUND
local task = redis.call('HMGET', KEYS[1], 'nx', 'mk')
if not task[1] then return { 'NOT_FOUND' } end
redis.call('HINCRBY', KEYS[1], 'tq', 1)
return task
