/**
 * Takes the port before anything else happens: a port in use is found before a database is opened, and the base URL is
 * known before the first token and the credentials name it, also when the system picks the port.
 */
import { createServer, type Server } from 'node:net';
import { CommandError } from './command-error.ts';

export interface HeldPort {
  readonly port: number;
  /** Gives the port free, for the server to listen on at once. */
  release(): Promise<void>;
}

/**
 * Throws CommandError, with what fixes it, when the address cannot be listened on. Port 0 takes any free one. `variable`: the
 * setting that the port comes from.
 */
export async function holdPort(host: string, port: number, variable: string): Promise<HeldPort> {
  // A client that connects already is told nothing: to a probe that is the same as a server that is not up yet.
  const server = createServer((socket) => socket.destroy());
  await listen(server, host, port, variable);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the held port has no number');
  return {
    port: address.port,
    release: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function listen(server: Server, host: string, port: number, variable: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explainListenError(error, host, port, variable)));
    server.listen({ host, port, exclusive: true }, resolve);
  });
}

/** The error of a failed listen in the operator's words. */
export function explainListenError(
  error: Error,
  host: string,
  port: number,
  variable: string,
  hostVariable = 'IRONCRAFT_HOST',
): CommandError {
  const where = `${host} port ${port}`;
  const code = 'code' in error ? error.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return new CommandError(
        `${where} is in use by another program. Stop that program, or choose another port with ${variable} (0 takes any free one).`,
        { cause: error },
      );
    case 'EACCES':
      return new CommandError(
        `This user may not listen on ${where}. Choose a port of 1024 or higher with ${variable}.`,
        { cause: error },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CommandError(
        `This machine has no address ${host}. Set ${hostVariable} to one it has, such as 127.0.0.1 or 0.0.0.0.`,
        { cause: error },
      );
    default:
      return new CommandError(`Cannot listen on ${where}: ${error.message}`, { cause: error });
  }
}
