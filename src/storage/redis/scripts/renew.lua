#!lua flags=allow-oom
-- Prolongs leases, an expired one that nobody took as if in time, and notes what was given to agents. Works in a Redis that is full: its
-- tasks must not seem to be without an owner.
-- KEYS  1 leases, then the task of each lease
-- ARGV  1 lease ms, then id, epoch, token, consumed of each lease
-- Reply for each lease: the end of its log as offset.mark | FENCED
local now = clock()
local replies = {}
for at = 2, #KEYS do
  local first = 2 + (at - 2) * 4
  local task = redis.call('HMGET', KEYS[at], 'ep', 'tk', 'co', 'nx', 'mk')
  if not task[1] or task[2] == '' or task[1] ~= ARGV[first + 1] or task[2] ~= ARGV[first + 2] then
    replies[at - 1] = 'FENCED'
  else
    redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[first])
    local consumed = tonumber(ARGV[first + 3])
    if consumed > tonumber(task[3]) then redis.call('HSET', KEYS[at], 'co', consumed, 'bg', 1, 'at', 1) end
    replies[at - 1] = task[4] .. '.' .. task[5]
  end
end
return replies
