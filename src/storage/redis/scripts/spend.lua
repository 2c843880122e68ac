-- Spends from a quota. Its key holds the time when it is whole again, and goes then.
-- KEYS  1 quota
-- ARGV  1 how many at most, 2 ms after which there is one more, 3 how many there are of a whole one
-- Reply how many, ms until one more can be had
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local each = tonumber(ARGV[2])
local full = now + each * ARGV[3]
local whole = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now), full)
local granted = math.min(tonumber(ARGV[1]), math.floor((full - whole) / each + 0.001))
if granted > 0 then
  whole = whole + granted * each
  redis.call('SET', KEYS[1], string.format('%.3f', whole), 'PX', math.max(1, math.ceil(whole - now)))
end
return { granted, math.max(0, math.ceil(whole + each - full - 0.001)) }
