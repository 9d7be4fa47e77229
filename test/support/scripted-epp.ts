/** A registry that does as a script says: for what real ones do and our own server does not. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { describeCommand, type EppCommand, readRequest } from '../../src/domains/registry/epp/commands/command.ts';
import { greetingElement } from '../../src/domains/registry/epp/commands/login.ts';
import { type Response, responseElement } from '../../src/domains/registry/epp/commands/response.ts';
import { encodeFrame, FrameReader } from '../../src/domains/registry/epp/frames.ts';
import { EPP, EXTENSION_URIS, OBJECT_URIS } from '../../src/domains/registry/epp/namespaces.ts';
import { element } from '../../src/domains/registry/epp/xml/element.ts';
import { parseXml } from '../../src/domains/registry/epp/xml/parse-xml.ts';
import { writeXml } from '../../src/domains/registry/epp/xml/write-xml.ts';
import { testTls } from './epp.ts';

/** What to send for a frame: XML, or bytes as they are. Undefined: nothing, save for logins and logouts. */
export type Script = (command: EppCommand | 'hello', clTRID: string, socket: TLSSocket) => string | Buffer | undefined;

export interface ScriptedEpp {
  readonly port: number;
  /** What came, in its order. */
  readonly commands: string[];
  close(): Promise<void>;
}

export async function openScriptedEpp(script: Script, greeting: string = greetingOf()): Promise<ScriptedEpp> {
  const commands: string[] = [];
  const sockets = new Set<TLSSocket>();
  const tls = { key: readFileSync(testTls.keyFile), cert: readFileSync(testTls.certificateFile) };
  const server = createServer(tls, (socket) => {
    const reader = new FrameReader();
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.write(encodeFrame(greeting));
    socket.on('data', (piece: Buffer) => {
      for (const frame of reader.push(piece)) {
        const request = readRequest(parseXml(frame));
        const command = request.kind === 'hello' ? request.kind : request.command;
        const clTRID = request.kind === 'hello' ? '' : (request.clTRID ?? '');
        commands.push(command === 'hello' ? command : describeCommand(command));
        const reply = script(command, clTRID, socket) ?? answerBySession(command, clTRID);
        if (reply !== undefined) socket.write(typeof reply === 'string' ? encodeFrame(reply) : reply);
      }
    });
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    commands,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function answerBySession(command: EppCommand | 'hello', clTRID: string): string | undefined {
  if (command === 'hello') return undefined;
  if (command.kind === 'login') return answerWith(1000, clTRID);
  return command.kind === 'logout' ? answerWith(1500, clTRID) : undefined;
}

export function greetingOf(extensionUris: readonly string[] = EXTENSION_URIS, language = 'en'): string {
  const greeting = greetingElement({
    server: 'scripted',
    at: '2026-01-01T00:00:00Z',
    versions: ['1.0'],
    languages: [language],
    objectUris: OBJECT_URIS,
    extensionUris,
  });
  return writeXml(element(EPP, 'epp', [greeting]));
}

export function answerWith(code: number, clTRID: string, parts: Partial<Response> = {}): string {
  return writeXml(responseElement({ code, message: 'as you say', extensions: [], clTRID, svTRID: 'sv-1', ...parts }));
}
