-- Claims the deliveries of tasks. What a newer version has written to stays due for a replica that can read it.
-- KEYS  1 due, then the task of each id
-- ARGV  1 token, 2 claim ms, then ids
-- Reply ids that are claimed now, ids that are left to a newer version
local now = clock()
local tasks, due = {}, {}
for at = 2, #KEYS do
  tasks[at] = redis.call('HMGET', KEYS[at], 'wh', 'dt', 'fv')
  due[at] = redis.call('ZSCORE', KEYS[1], ARGV[at + 1])
end
local claimed, left = {}, {}
for at = 2, #KEYS do
  local id, task = ARGV[at + 1], tasks[at]
  if due[at] and newer(task[3]) then
    left[#left + 1] = id
  elseif due[at] and tonumber(due[at]) <= now then
    if tonumber(task[1] or '0') > 0 then
      redis.call('HSET', KEYS[at], 'dt', ARGV[1])
      redis.call('ZADD', KEYS[1], now + ARGV[2], id)
      claimed[#claimed + 1] = id
    else
      redis.call('ZREM', KEYS[1], id)
      if task[1] then redis.call('HSET', KEYS[at], 'dt', '') end
    end
  end
end
return { claimed, left }
