-- What a request asks for, in one spelling and without what the clock and chance put into it, as sites/asked.py has it; for
-- nginx's Lua (5.1) and Apache's (5.3). `rules.lua` holds the names of parameters and the rest of it, from there, too.
local rules = require("rules")
local asked = {}

local function decoded(text)
    return (text:gsub("%+", " "):gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function encoded(text)
    return (text:gsub("[^%w_.~ -]", function(byte) return ("%%%02X"):format(byte:byte()) end):gsub(" ", "+"))
end

local function spelled(text, apart)
    return (text:gsub("%%(%x%x)", function(hex)
        local character = string.char(tonumber(hex, 16))
        if character:find("^[!-~]$") and not apart:find(character, 1, true) then return character end
        return "%" .. hex:upper()
    end))
end

-- Path and query in one spelling.
function asked.spelled(target)
    local path, mark, query = target:match("^([^?]*)(%??)(.*)$")
    return spelled(path, rules.apart_in_path) .. mark .. spelled(query, rules.apart_in_query)
end

local function masked(text)
    return (text:gsub("%d+", function(digits) return #digits >= rules.long_digits and "*" or digits end))
end

local function parameters(query)
    local found = {}
    for pair in query:gmatch("[^&]+") do
        -- A broken encoding, or a semicolon, makes it no parameter.
        if not pair:find(";", 1, true) and not pair:gsub("%%%x%x", ""):find("%", 1, true) then
            local name, value = pair:match("^([^=]*)=?(.*)$")
            found[#found + 1] = { name = decoded(name), value = value, place = #found }
        end
    end
    return found
end

local function sorted(query)
    local counting, written = {}, {}
    for _, each in ipairs(parameters(query)) do
        if not rules.left_out[each.name] then counting[#counting + 1] = each end
    end
    table.sort(counting, function(one, other)
        if one.name ~= other.name then return one.name < other.name end
        return one.place < other.place
    end)
    for at, each in ipairs(counting) do
        written[at] = encoded(each.name) .. "=" .. encoded(rules.callbacks[each.name] and "*" or decoded(each.value))
    end
    return table.concat(written, "&")
end

-- What answers may be grouped by: host, path and query, then host and path.
function asked.keys(host, target)
    local path, query = target:match("^([^?]*)%??(.*)$")
    local name = host:gsub("^www%.", "") .. spelled(path, rules.apart_in_path)
    return masked(name .. "?" .. sorted(query)), masked(name)
end

-- The function a request names in a parameter; nil when there is none, or none that may go into a script.
function asked.callback(target, parameter)
    local named = {}
    for _, each in ipairs(parameters(target:match("^[^?]*%??(.*)$"))) do
        if each.name == parameter then named[#named + 1] = decoded(each.value) end
    end
    local name = table.concat(named, ",")
    local bare = name:gsub("%[%d+%]", "")
    return name:find("^[%a_$]") and bare:find("^[%w_.$]+$") and name or nil
end

return asked
