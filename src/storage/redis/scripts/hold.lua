#!lua flags=allow-oom
-- Prolongs claims of deliveries.
-- KEYS  1 due, then the task of each id
-- ARGV  1 claim ms, then id and token of each
-- Reply 1 or 0 for each: whether it is held
local now = clock()
local held = {}
for at = 2, #KEYS do held[at - 1] = redis.call('HGET', KEYS[at], 'dt') == ARGV[2 * at - 1] and 1 or 0 end
for at = 2, #KEYS do
  if held[at - 1] == 1 then redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2 * at - 2]) end
end
return held
