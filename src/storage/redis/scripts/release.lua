#!lua flags=allow-oom
-- Gives a lease back: to rest, or to `ready` for whoever takes it next.
-- KEYS  1 task, 2 leases, 3 ready
-- ARGV  1 id, 2 epoch, 3 token, 4 to (rest or ready), 5 consumed, 6 publish command, 7 wake channel
-- Reply OK | FENCED | PENDING
local task = redis.call('HMGET', KEYS[1], 'ep', 'tk', 'kd', 'lc', 'co', 'at', 'rl')
local given = ARGV[2] .. ' ' .. ARGV[3]
if not task[1] then return { 'FENCED' } end
if task[7] == given then return { 'OK' } end
if task[2] == '' or task[1] ~= ARGV[2] or task[2] ~= ARGV[3] then return { 'FENCED' } end
local consumed = tonumber(ARGV[5])
if ARGV[4] == 'rest' and tonumber(task[4]) > consumed then return { 'PENDING' } end
local attempts = tonumber(task[6])
if consumed > tonumber(task[5]) then
  redis.call('HSET', KEYS[1], 'co', consumed, 'bg', 1)
  attempts = 1
end
if ARGV[4] == 'ready' then attempts = math.max(0, attempts - 1) end
redis.call('HSET', KEYS[1], 'tk', '', 'rp', '', 'rl', given, 'at', attempts)
redis.call('ZREM', KEYS[2], ARGV[1])
-- Whatever its owner thinks of it: a task that is not at rest is owned or waits.
if ARGV[4] == 'ready' or task[3] ~= 'i' then
  redis.call('ZADD', KEYS[3], clock(), ARGV[1])
  redis.call(ARGV[6], ARGV[7], ARGV[1])
end
return { 'OK' }
