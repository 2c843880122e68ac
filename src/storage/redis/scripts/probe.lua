-- Calls every command that the store and its scripts use, on keys of no meaning, and says which of them the user may not use.
-- KEYS  1 string, 2 hash, 3 stream, 4 sorted set, 5 set
-- ARGV  1 publish command, 2 a channel
-- Reply names of commands
local text, hash, stream, sorted, set = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local calls = {
  { 'TIME' },
  { 'SET', text, '1', 'PX', '10000' }, { 'GET', text }, { 'EXISTS', text }, { 'PERSIST', text }, { 'DEL', text },
  { 'HSET', hash, 'a', '1' }, { 'HGET', hash, 'a' }, { 'HMGET', hash, 'a' }, { 'HINCRBY', hash, 'a', '1' }, { 'HSTRLEN', hash, 'a' },
  { 'HGETALL', hash }, { 'HVALS', hash }, { 'HLEN', hash }, { 'HEXISTS', hash, 'a' }, { 'HDEL', hash, 'a' },
  { 'XADD', stream, '1-0', 'a', '1' }, { 'XRANGE', stream, '-', '+' }, { 'XTRIM', stream, 'MINID', '1-0' },
  { 'ZADD', sorted, '1', 'a' }, { 'ZSCORE', sorted, 'a' }, { 'ZCARD', sorted }, { 'ZCOUNT', sorted, '-inf', '+inf' }, { 'ZRANGE', sorted, '0', '0' },
  { 'ZRANGEBYSCORE', sorted, '0', '0' }, { 'ZREVRANGEBYLEX', sorted, '+', '-' }, { 'ZLEXCOUNT', sorted, '-', '+' },
  { 'ZREM', sorted, 'a' },
  { 'SADD', set, 'a' }, { 'SCARD', set }, { 'SMEMBERS', set },
  { 'UNLINK', text, hash, stream, sorted, set },
  { ARGV[1], ARGV[2], '' },
}
local refused = {}
for _, call in ipairs(calls) do
  local reply = redis.pcall(unpack(call))
  if type(reply) == 'table' and reply.err and string.find(reply.err, "can't run this command", 1, true) then
    refused[#refused + 1] = string.lower(call[1])
  end
end
return refused
