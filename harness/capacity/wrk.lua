-- What wrk is to send, and to say at its end: wrk -s wrk.lua URL -- DEPTH
--
-- DEPTH requests go out at once and the next ones when all of them have been answered. Of times wrk then knows those of
-- whole batches alone: how often each was in microseconds, with those that it adds itself. The last line is one JSON
-- object, which harness/capacity/ratetools.py reads.

function init(args)
  local depth = tonumber(args[1])
  if depth == 1 then return end -- without a function of ours wrk sends the same bytes again and calls nothing
  local one = wrk.format()
  local batch = one:rep(depth)
  request = function() return batch end
end

function done(summary, latency, _)
  local errors = summary.errors
  local times = {}
  for at = 1, #latency do times[at] = string.format("[%d, %d]", latency(at)) end
  local told = {
    { "requests", summary.requests }, { "duration_us", summary.duration }, { "bytes", summary.bytes },
    { "connect", errors.connect }, { "read", errors.read }, { "write", errors.write },
    { "status", errors.status }, { "timeout", errors.timeout },
  }
  local words = {}
  for at, pair in ipairs(told) do words[at] = string.format('"%s": %d', pair[1], pair[2]) end
  io.write("{", table.concat(words, ", "), ', "latencies_us": [', table.concat(times, ", "), "]}\n")
end
