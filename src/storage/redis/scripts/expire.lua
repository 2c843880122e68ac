-- Moves tasks whose lease has expired into `ready`; one at rest with nothing pending only loses its lease.
-- KEYS  1 leases, 2 ready, then the task of each id
-- ARGV  1 publish command, 2 wake channel, then ids
-- Reply how many wait now
local now = clock()
-- What has to be read comes before the first write: an error in between would leave a task in neither set.
local tasks = {}
for at = 3, #KEYS do
  local expires = redis.call('ZSCORE', KEYS[1], ARGV[at])
  if expires and tonumber(expires) <= now then tasks[at] = redis.call('HMGET', KEYS[at], 'kd', 'lc', 'co') end
end
local waiting = 0
for at, task in pairs(tasks) do
  redis.call('ZREM', KEYS[1], ARGV[at])
  if task[1] then
    redis.call('HSET', KEYS[at], 'tk', '', 'rp', '')
    if task[1] == 'r' or (task[1] == 'i' and tonumber(task[2]) > tonumber(task[3])) then
      redis.call('ZADD', KEYS[2], now, ARGV[at])
      waiting = waiting + 1
    end
  end
end
if waiting > 0 then redis.call(ARGV[1], ARGV[2], '') end
return waiting
