#!lua flags=allow-oom
-- Makes entries visible that enough servers hold now (durability levels beyond `local`).
-- KEYS  1 task
-- ARGV  1 id, 2 offset and 3 mark up to which the log is confirmed, 4 publish command, 5 events channel, 6 inbox channels' common
--       beginning ('' where the owner need not be told)
-- Reply 1 | 0 (nothing new)
local task = redis.call('HMGET', KEYS[1], 'nx', 'cf', 'cm', 'kd', 'ep', 'rp')
local offset, confirmed = tonumber(ARGV[2]), tonumber(task[2] or 0)
if not task[1] or tonumber(task[1]) < offset or confirmed >= offset then return 0 end
redis.call('HSET', KEYS[1], 'cf', offset, 'cm', ARGV[3])
local sealed = task[4] == 't' and tonumber(task[1]) == offset
publish(ARGV[4], ARGV[5], confirmed .. '.' .. (task[3] or ''), offset .. '.' .. ARGV[3], sealed, task[5], clock(), {}, 0)
if ARGV[6] ~= '' and task[6] ~= '' then redis.call(ARGV[4], ARGV[6] .. task[6], ARGV[1]) end
return 1
