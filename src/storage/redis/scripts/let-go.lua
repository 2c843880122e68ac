#!lua flags=allow-oom
-- Ends a claim of deliveries.
-- KEYS  1 task, 2 due
-- ARGV  1 id, 2 token, 3 offset of the last entry that was looked at, 4 ms until somebody is to look again ('' for when there is something new),
--       5 active webhooks that the claimer accounts for
-- Reply OK | MORE (entries or webhooks came, the claim stays)
local task = redis.call('HMGET', KEYS[1], 'dt', 'nx', 'wh')
if not task[1] or task[1] ~= ARGV[2] then return 'OK' end
local webhooks = tonumber(task[3] or '0')
local none = webhooks == 0
if webhooks > tonumber(ARGV[5]) then return 'MORE' end
if not none and tonumber(task[2]) > tonumber(ARGV[3]) then return 'MORE' end
redis.call('HSET', KEYS[1], 'dt', '')
if none or ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], clock() + ARGV[4], ARGV[1])
end
return 'OK'
