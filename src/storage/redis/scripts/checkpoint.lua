-- Switches to a checkpoint whose parts are stored already, and trims what no resume window needs.
-- KEYS  1 task, 2 log, 3 progress of its deliveries, then the parts of the new checkpoint, then those of the old one
-- ARGV  1 epoch and 2 token ('' where the log should be sealed), 3 offset, 4 mark, 5 pointer to the new parts, 6 number of new parts,
--       7 pointer that the old parts were named after, 8 entries and 9 bytes of the resume window, 10 bytes
--       that a webhook may lag behind
-- Reply OK | OLD (a later one stands) | FENCED | STALE | NOT_FOUND | RETRY
local task = redis.call('HMGET', KEYS[1], 'kd', 'ep', 'tk', 'cp', 'nx', 'fo', 'by', 'wh')
if not task[1] then return 'NOT_FOUND' end
-- This very attempt, repeated: the token in the pointer says so. Whatever has happened since, its parts are in use.
if task[4] == ARGV[5] then return 'OK' end
if task[1] ~= 't' and (ARGV[2] == '' or task[3] ~= ARGV[2] or task[2] ~= ARGV[1]) then return 'FENCED' end
local offset = tonumber(ARGV[3])
local at = redis.call('XRANGE', KEYS[2], ARGV[3] .. '-0', ARGV[3] .. '-0')
if #at == 0 or markof(at[1]) ~= ARGV[4] then return 'STALE' end
if task[4] and tonumber(string.match(task[4], '^%d+')) >= offset then return 'OLD' end
if (task[4] or '') ~= ARGV[7] then return 'RETRY' end
local parts = tonumber(ARGV[6])
-- A part that has gone by itself meanwhile leaves the log as it is.
for part = 4, 3 + parts do
  if redis.call('EXISTS', KEYS[part]) == 0 then return 'STALE' end
end
for part = 4, 3 + parts do redis.call('PERSIST', KEYS[part]) end
for part = 4 + parts, #KEYS do redis.call('UNLINK', KEYS[part]) end
redis.call('HSET', KEYS[1], 'cp', ARGV[5])

-- The oldest entry that the window needs: by count, and by bytes, whichever is later; found by the running totals.
local last, first, total = tonumber(task[5]), tonumber(task[6]), tonumber(task[7])
local low = math.max(first, last - ARGV[8] + 1)
local high = last
while low < high do
  local middle = math.floor((low + high) / 2)
  local entry = redis.call('XRANGE', KEYS[2], middle .. '-0', middle .. '-0')[1]
  if total - totalof(entry) + #entry[2][4] <= tonumber(ARGV[9]) then high = middle else low = middle + 1 end
end
local keep = math.min(low, offset)
-- A webhook that is not too far behind reads on from the log.
if tonumber(task[8] or '0') > 0 then
  local progress = redis.call('HVALS', KEYS[3])
  for at = 1, #progress do
    local state, cursor = string.match(progress[at], '(%a) (%d+)')
    local next = math.max(first, tonumber(cursor) + 1)
    if state == 'a' and next < keep then
      local entry = redis.call('XRANGE', KEYS[2], next .. '-0', next .. '-0')[1]
      if entry and total - totalof(entry) <= tonumber(ARGV[10]) then keep = next end
    end
  end
end
if keep > first then
  local gone = redis.call('XRANGE', KEYS[2], (keep - 1) .. '-0', (keep - 1) .. '-0')[1]
  redis.call('HSET', KEYS[1], 'fo', keep, 'fm', markof(gone))
  redis.call('XTRIM', KEYS[2], 'MINID', keep .. '-0')
end
return 'OK'
