#!lua flags=allow-oom
-- Records what became of a delivery.
-- KEYS  1 task, 2 push configs, 3 progress
-- ARGV  1 token, 2 id of the config, 3 state (a active, d done, p parked), 4 offset, 5 mark, 6 failures, 7 ms until the next attempt, 8 cause
-- Reply OK | GONE | LOST
local task = redis.call('HMGET', KEYS[1], 'dt', 'wh')
if not task[1] or task[1] ~= ARGV[1] then return 'LOST' end
local known = redis.call('HGET', KEYS[3], ARGV[2])
if not known or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then return 'GONE' end
local state, offset, mark = string.match(known, '(%a) (%d+)%.(%x*)')
if tonumber(ARGV[4]) >= tonumber(offset) then offset, mark = ARGV[4], ARGV[5] end
local wait = tonumber(ARGV[7])
local before = wait > 0 and string.format('%.0f', clock() + wait) or '0'
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. offset .. '.' .. mark .. ' ' .. ARGV[6] .. ' ' .. before .. ' ' .. ARGV[8])
if state == 'a' and ARGV[3] ~= 'a' then redis.call('HINCRBY', KEYS[1], 'wh', -1) end
if state ~= 'a' and ARGV[3] == 'a' then redis.call('HINCRBY', KEYS[1], 'wh', 1) end
return 'OK'
