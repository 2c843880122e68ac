-- What every script begins with.

-- Milliseconds since 1970 by the store's own clock.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- One entry at the end of a log. `h` says what it is: kind and mark, epoch, time, format, and `total`, the bytes of all entries up to it, by
-- which a log is trimmed to so many bytes. Few fields: a reader pays for each. In every format the mark is where it is, and `total` comes last.
local function add(log, offset, kind, mark, epoch, now, total, bytes, format)
  local what = kind .. mark .. ' ' .. epoch .. ' ' .. now .. ' ' .. (format or WRITES) .. ' ' .. total
  redis.call('XADD', log, offset .. '-0', 'h', what, 'b', bytes)
end

-- Whether a task is left to a newer version: by `fv`, the newest format in which anything of it is stored.
local function newer(format)
  return tonumber(format or 1) > READS
end

-- Notes in a record that something is stored in the format that is written.
local function note(task, format)
  if tonumber(format or 1) < WRITES then redis.call('HSET', task, 'fv', WRITES) end
end

-- The mark of an entry as XRANGE answers it, and its running total.
local function markof(entry)
  return string.sub(entry[2][2], 2, 9)
end
local function totalof(entry)
  return tonumber(string.match(entry[2][2], '%d+$'))
end

-- Whether a task has as many push configs as it may have, and this is none of them.
local function full(configs, id, most)
  return redis.call('HLEN', configs) >= tonumber(most) and redis.call('HEXISTS', configs, id) == 0
end

-- Says that a task has something to deliver, where it has a webhook and nobody has claimed its deliveries: a claimer follows the log. Answers
-- whether somebody should be told.
local function deliver(due, id, webhooks, claim)
  if tonumber(webhooks or '0') == 0 or (claim and claim ~= '') then return '' end
  redis.call('ZADD', due, 'LT', clock(), id)
  return '1'
end

-- Attaches a webhook to a task whose log ends at `position`: it gets what comes after. One that is there already goes on where it is, at once
-- and as if it had never failed; where the log is not kept that far back, with the task: no entry has an empty mark.
local function attach(task, progress, due, id, config, position, sealed)
  local known = redis.call('HGET', progress, config)
  local state, cursor = string.match(known or '', '(%a) (%S+)')
  if state == 'd' then return '' end
  if not state and sealed then
    redis.call('HSET', progress, config, 'd ' .. position .. ' 0 0 ')
    return ''
  end
  local record = redis.call('HMGET', task, 'wh', 'dt', 'fo')
  if state and string.match(cursor, '%d+') + 1 < tonumber(record[3]) then cursor = (record[3] - 1) .. '.' end
  redis.call('HSET', progress, config, 'a ' .. (cursor or position) .. ' 0 0 ')
  deliver(due, id, state == 'a' and record[1] or redis.call('HINCRBY', task, 'wh', 1), record[2])
  -- Whoever has the claim learns of a new webhook.
  return '1'
end

-- Moves the index rows of a task. Six keys from `first`: scope, context, old state, old state in context, new state, new state in context.
local function reindex(first, old, new)
  for at = first, first + 3 do redis.call('ZREM', KEYS[at], old) end
  redis.call('ZADD', KEYS[first], 0, new)
  redis.call('ZADD', KEYS[first + 1], 0, new)
  redis.call('ZADD', KEYS[first + 4], 0, new)
  redis.call('ZADD', KEYS[first + 5], 0, new)
end

-- Tells readers of new entries: the position before them, the one after them, whether the log is sealed, epoch and time; then what they
-- are, unless they are large or of another format than the first: a reader fetches those itself. Nothing is said where `command` is empty: readers wait for a confirmation.
local LARGE = 16384
local function publish(command, channel, before, after, sealed, epoch, now, entries, size)
  if command == '' then return end
  local head = { before, after, sealed and '1' or '0', epoch, string.format('%.0f', now) }
  local parts = { '' }
  if size <= LARGE and WRITES == 1 then
    for at = 1, #entries, 3 do
      head[#head + 1] = entries[at] .. entries[at + 1] .. #entries[at + 2]
      parts[#parts + 1] = entries[at + 2]
    end
  end
  parts[1] = table.concat(head, ' ') .. '\n'
  redis.call(command, channel, table.concat(parts))
end
