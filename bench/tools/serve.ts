/**
 * An MCP server with one tool, `echo`, that answers at once: the revision 2025-11-25 over streamable HTTP, without sessions, which the
 * clients of both sides speak.
 *
 *     node serve.ts PORT
 */
import { createServer, type IncomingMessage } from 'node:http';

const TOOLS = [
  {
    name: 'echo',
    description: 'Gives back its text.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
];

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly text?: unknown }; readonly protocolVersion?: unknown };
}

function answer({ method, params }: Message): object {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'bench', version: '1' },
        },
      };
    case 'tools/list':
      return { result: { tools: TOOLS } };
    case 'tools/call':
      return { result: { content: [{ type: 'text', text: String(params?.arguments?.text) }] } };
    default:
      return { error: { code: -32_601, message: 'no such method' } };
  }
}

async function readMessage(request: IncomingMessage): Promise<Message> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Message;
}

createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(request.url === '/ok' ? 200 : 405).end();
    return;
  }
  readMessage(request).then(
    (message) => {
      if (message.id === undefined) {
        response.writeHead(202).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) }));
    },
    () => response.writeHead(400).end(),
  );
}).listen(Number(process.argv[2]), '127.0.0.1');
