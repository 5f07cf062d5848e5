// The film itself is asked for when somebody starts it.
videojs("player", { sources: [{ src: "/film/harbour.m3u8", type: "application/x-mpegURL" }] });
