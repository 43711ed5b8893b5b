-- The LuaJIT peer.
--
--   resume.lua resume 1 N    N round trips: resume a coroutine that yields
--   resume.lua hop K N       N hops through a parent that resumes K coroutines in order
--   resume.lua create 1 N    N coroutines created and run to their end
--
-- Prints `BENCH NS VERSION`.

local ffi = require("ffi")
ffi.cdef [[
struct timespec { long tv_sec; long tv_nsec; };
int clock_gettime(int clock, struct timespec *t);
]]

local MONOTONIC = 1
local time = ffi.new("struct timespec")
local function now()
  ffi.C.clock_gettime(MONOTONIC, time)
  return tonumber(time.tv_sec) * 1e9 + tonumber(time.tv_nsec)
end

local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield

local function echo(v)
  while true do v = yield(v + 1) end
end

local benches = {}

function benches.resume(_, n)
  local co = create(echo)
  local function round_trips(n)
    local v, _ = 0
    for _ = 1, n do _, v = resume(co, v) end
    return v
  end
  round_trips(n / 10 + 1)
  local start = now()
  round_trips(n)
  return now() - start
end

function benches.hop(k, n)
  local ring = {}
  for i = 1, k do ring[i] = create(echo) end
  local v = 0
  local function pass()
    local _
    for i = 1, k do _, v = resume(ring[i], v) end
  end
  pass()
  local start = now()
  for _ = 1, n / k do pass() end
  return now() - start
end

function benches.create(_, n)
  local function body(v) return v + 1 end
  local function batch(n)
    local _, v
    for i = 1, n do _, v = resume(create(body), i) end
    return v
  end
  batch(n / 10 + 1)
  local start = now()
  batch(n)
  return now() - start
end

local bench, k, n = arg[1], tonumber(arg[2]), tonumber(arg[3])
if not benches[bench] or not k or not n then
  io.stderr:write("usage: resume.lua resume|hop|create K N\n")
  os.exit(2)
end
local took = benches[bench](k, n)
print(string.format("%s %.3f %s", bench, took / n, jit.version:match("%d[%w%.%-]*")))
