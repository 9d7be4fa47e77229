/**
 * Node's HTTP. An `import` of `node:http` reads all that it exports, and with `WebSocket` loads the whole of Node's own `fetch`: 0.8 MB of
 * text and 20 ms of a start that never uses it.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
