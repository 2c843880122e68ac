#!lua flags=no-writes
-- What a sweep has to look at.
-- KEYS  1 leases, 2 end, 3 ready, 4 due
-- ARGV  1 most ids of each kind
-- Reply time, ids of expired leases, ids of tasks at rest whose time is over, how many wait, how many tasks have something to deliver
local now = clock()
return {
  string.format('%.0f', now),
  redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1]),
  redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[1]),
  redis.call('ZCARD', KEYS[3]),
  redis.call('ZCOUNT', KEYS[4], '-inf', now),
}
