-- What Apache does by script: finds the answer to what mod_rewrite did not find, waits, and writes the scripts that call the
-- function a request names. Every function here is called with the request; see apache.template and closestfiles.py.
local closest = require("closest")
local own_folder = require("folder")

local function folder_of(r)
    return own_folder .. (r.is_https and "https/" or "http/")
end

local function send(r, file, answer)
    r.filename, r.handler = file, "send-as-is"
    r.subprocess_env["ANSWER"] = answer
    return apache2.OK
end

local function exists(file)
    local opened = closest.opened(file)
    if opened then opened:close() end
    return opened ~= nil
end

local function wait_for(r, folder, name)
    local us = closest.content(folder .. "objects/" .. name .. ".us")
    if us then r.subprocess_env["THINK_US"] = us end
end

-- Sends the response of that name, or tells a browser that has kept it that it still holds.
local function send_recorded(r, folder, name, answer)
    wait_for(r, folder, name)
    local asks = r.headers_in["If-None-Match"] or r.headers_in["If-Modified-Since"]
    local kept = asks and folder .. "kept/" .. r:sha1(name .. " " .. asks)
    return send(r, kept and exists(kept) and kept or folder .. "objects/" .. name, answer)
end

function translate(r)
    local folder = folder_of(r)
    local host, target = (r.headers_in["Host"] or ""):lower(), r.subprocess_env["TARGET"] or ""
    local function name_of(text) return r:sha1(text) end
    local name = name_of(closest.spelled(folder, name_of, host, target))
    if exists(folder .. "objects/" .. name) then return send_recorded(r, folder, name, "exact") end
    name = closest.find(folder, name_of, host, target)
    if not name then return send(r, folder .. "miss", "miss") end
    local calls, headers, body = closest.callback(folder, name, target)
    if not calls then return send_recorded(r, folder, name, "closest") end
    if not body then return send(r, folder .. "miss", "miss") end
    wait_for(r, folder, name)
    r.subprocess_env["OBJECT"] = name
    r.filename, r.handler = own_folder .. "apache.lua", "lua-script"
    r.subprocess_env["ANSWER"] = "closest"
    return apache2.OK
end

function think(r)
    local us = r.subprocess_env["THINK_US"]
    if us then r.usleep(tonumber(us)) end
    return apache2.DECLINED
end

function handle(r)
    local _, headers, body = closest.callback(folder_of(r), r.subprocess_env["OBJECT"], r.subprocess_env["TARGET"])
    for name, value in headers:gmatch("([^\n:]+): ([^\n]*)\n") do
        if name:lower() == "content-type" then
            r.content_type = value
        else
            local before = r.headers_out[name]
            r.headers_out[name] = before and before .. ", " .. value or value
        end
    end
    r.headers_out["Content-Length"] = tostring(#body)
    r:write(body)
    return apache2.OK
end
