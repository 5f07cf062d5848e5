-- How nginx finds the recorded answer to a request and sends its status and headers; see nginx.py.
local closest = require("closest")
local answers = {}
local content = closest.content

local function name_of(text)
    return (ngx.sha1_bin(text):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local function choose(folder)
    local asked = ngx.req.get_headers()
    if ngx.req.get_method() == "OPTIONS" and asked["Access-Control-Request-Method"] then
        return "preflight", "preflight", content(folder .. "heads/preflight")
    end
    local host = (ngx.var.http_host or ngx.var.host):lower()
    local target = ngx.var.request_uri:gsub("^https?://[^/?]*", "")
    local name = name_of(host .. target)
    local head = content(folder .. "heads/" .. name)
    if head then return "exact", name, head end
    name = name_of(closest.spelled(folder, name_of, host, target))
    head = content(folder .. "heads/" .. name)
    if head then return "exact", name, head end
    name = closest.find(folder, name_of, host, target)
    if name then
        head = content(folder .. "heads/" .. name)
        local calls, headers, body = closest.callback(folder, name, target)
        if not calls then return "closest", name, head end
        if body then return "closest", name, head:match("^[^\n]*\n") .. headers, body end
    end
    return "miss", "miss", content(folder .. "heads/miss")
end

-- nginx makes the tag of what it compresses weak, and a browser asks with that: tags are compared weakly (RFC 9110, 13.1.2).
local function without_weakness(value)
    return type(value) == "string" and value:gsub("^W/", "") or nil
end

function answers.find(folder)
    local answer, name, head, body = choose(folder)
    local status, wait_us, question, headers = head:match("^(%d+) (%d+)([^\n]*)\n(.*)$")
    ngx.var.answer = answer
    ngx.ctx.status, ngx.ctx.headers = tonumber(status), headers
    if answer == "preflight" then ngx.ctx.asked = ngx.req.get_headers() end
    -- Every method is answered by URL alike, once its body has been read.
    local method = ngx.req.get_method()
    if method ~= "GET" and method ~= "HEAD" then
        ngx.req.read_body()
        ngx.req.set_method(ngx.HTTP_GET)
    end
    if wait_us ~= "0" then ngx.sleep(tonumber(wait_us) / 1e6) end
    if body then
        ngx.status = ngx.ctx.status
        ngx.header["Content-Length"] = #body
        ngx.print(body)
        return ngx.exit(ngx.HTTP_OK)
    end
    -- A browser that has kept the response is told that it still holds.
    local asks, kept = question:match("^ (%S+): (.*)$")
    if asks and without_weakness(ngx.req.get_headers()[asks]) == without_weakness(kept) then
        ngx.ctx.status = ngx.HTTP_NOT_MODIFIED
        return ngx.exit(ngx.HTTP_NOT_MODIFIED)
    end
    ngx.req.set_uri("/" .. name)
end

function answers.send_headers()
    if not ngx.ctx.headers then return end
    if ngx.ctx.status ~= 200 then ngx.status = ngx.ctx.status end  -- what was 200 may have become 206
    ngx.header["Last-Modified"] = nil
    local values, order = {}, {}
    for name, value in ngx.ctx.headers:gmatch("([^\n:]+): ([^\n]*)\n") do
        if not values[name] then
            values[name] = {}
            order[#order + 1] = name
        end
        table.insert(values[name], value)
    end
    for _, name in ipairs(order) do
        ngx.header[name] = #values[name] == 1 and values[name][1] or values[name]
    end
    -- A WebSocket is refused, and its connection, of HTTP/1.1 beside HTTP/2, must not carry what the page asks for next.
    if (ngx.var.http_upgrade or ""):lower() == "websocket" then ngx.header["Connection"] = "close" end
    local asked = ngx.ctx.asked
    if asked then
        ngx.header["Access-Control-Allow-Origin"] = asked["Origin"]
        ngx.header["Access-Control-Allow-Methods"] = asked["Access-Control-Request-Method"]
        ngx.header["Access-Control-Allow-Headers"] = asked["Access-Control-Request-Headers"]
    end
end

return answers
