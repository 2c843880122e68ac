-- Acquires waiting tasks. The same token gets the same tasks. What a newer version has written to waits for a replica that can read it.
-- KEYS  1 ready, 2 leases, 3 what this token was given, then the task of each id
-- ARGV  1 token, 2 replica, 3 lease ms, 4 `more`: take those that still wait; `again`: only say which this token holds; then ids
-- Reply ids that this token holds, ids that are left to a newer version
local now = clock()
-- What has to be read comes before the first write: a record that cannot be read takes no other task with it.
local tasks, waits = {}, {}
for at = 4, #KEYS do
  tasks[at] = redis.call('HMGET', KEYS[at], 'ep', 'at', 'kd', 'tk', 'fv')
  waits[at] = ARGV[4] == 'more' and redis.call('ZSCORE', KEYS[1], ARGV[at + 1])
end
local given = redis.call('GET', KEYS[3])
local taken, new, left = {}, {}, {}
for at = 4, #KEYS do
  local id, task = ARGV[at + 1], tasks[at]
  if task[4] == ARGV[1] then
    taken[#taken + 1] = id
  elseif waits[at] and newer(task[5]) then
    left[#left + 1] = id
  elseif waits[at] then
    redis.call('ZREM', KEYS[1], id)
    if task[1] and task[3] ~= 't' then
      redis.call('HSET', KEYS[at], 'ep', task[1] + 1, 'tk', ARGV[1], 'rp', ARGV[2], 'at', task[2] + 1)
      redis.call('ZADD', KEYS[2], now + ARGV[3], id)
      taken[#taken + 1] = id
      new[#new + 1] = id
    end
  end
end
if #new > 0 then
  local all = table.concat(new, ' ')
  redis.call('SET', KEYS[3], given and given .. ' ' .. all or all, 'PX', ARGV[3])
end
return { taken, left }
