// lib
function f(){return "/from-lib.png"}
// lib
function f(){return "/from-lib.png"}
// lib
function f(){return "/from-lib.png"}
// lib
function f(){return "/from-lib.png"}
// lib
function f(){return "/from-lib.png"}
