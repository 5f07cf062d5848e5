-- The answer to a request that was not recorded under its very host, path and query, from the files that
-- sites/servers/closestfiles.py writes: the same for nginx and Apache, whose Lua both load this. `name_of` gives the SHA-1.
local asked = require("asked")
local closest = {}

local NO_SUCH_FILE = 2

-- A file, open; nil when there is none. What is there and cannot be opened, as for want of descriptors, is no miss.
function closest.opened(path)
    local file, why, number = io.open(path, "rb")
    if not file and number ~= NO_SUCH_FILE then error(why) end
    return file
end

function closest.content(path)
    local file = closest.opened(path)
    if not file then return nil end
    local text = file:read("*a")
    file:close()
    return text
end

-- The longest beginning of host and target that has a file in a group, by halves (Waldvogel et al., SIGCOMM 1997).
local function longest(folder, name_of, group, text, found)
    local length, step = 0, 32768
    while step >= 1 do
        if length + step <= #text then
            local better = closest.content(folder .. name_of(group .. "\n" .. text:sub(1, length + step)))
            if better then found, length = better, length + step end
        end
        step = math.floor(step / 2)
    end
    return found
end

-- Host and target of the same address in the spelling in which it was recorded, if it was.
function closest.spelled(folder, name_of, host, target)
    local text = host .. asked.spelled(target)
    return closest.content(folder .. "spelled/" .. name_of(text)) or text
end

-- The name of the recorded response that answers; nil when there is none.
function closest.find(folder, name_of, host, target)
    for _, group in ipairs({ asked.keys(host, target) }) do
        local found = closest.content(folder .. "closest/" .. name_of(group))
        if found then return longest(folder .. "closest/", name_of, group, host .. target, found) end
    end
end

-- A script that calls the function the request names: whether a response is one, its headers and its body. No body: the
-- request names none.
function closest.callback(folder, name, target)
    local about = closest.content(folder .. "callbacks/" .. name)
    if not about then return false end
    local mark, parameter = about:match("^(%S+) (.*)$")
    local called = asked.callback(target, parameter)
    if not called then return true end
    local head = closest.content(folder .. "callbacks/" .. name .. ".head")
    local body = closest.content(folder .. "callbacks/" .. name .. ".body")
    return true, head, (body:gsub(mark, called))
end

return closest
