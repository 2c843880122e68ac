#!lua flags=allow-oom
-- A write that changes nothing which anybody reads: what waits for it to be confirmed knows that all before it is.
-- KEYS  1 task, 2 log
-- ARGV  1 offset of an entry that was written already, by a master that may not be this one, then the marks that it may have; or none
-- Reply offset mark | NOT_FOUND | GONE (the log does not have that entry)
local task = redis.call('HMGET', KEYS[1], 'nx', 'mk', 'fo')
if not task[1] then return { 'NOT_FOUND' } end
if ARGV[1] and tonumber(ARGV[1]) >= tonumber(task[3]) then
  local at = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', ARGV[1] .. '-0')
  local there = false
  for index = 2, #ARGV do there = there or (#at > 0 and markof(at[1]) == ARGV[index]) end
  if not there then return { 'GONE' } end
end
redis.call('HINCRBY', KEYS[1], 'tq', 1)
return { task[1], task[2] }
