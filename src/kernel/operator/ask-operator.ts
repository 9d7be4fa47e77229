/** The command line's end of the operator's socket. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { abortAfter } from '../clock/timers.ts';
import { nodeHttp } from '../http/node-http.ts';
import { checkSocketPath } from './operator-socket.ts';
import {
  type AnswerOf,
  matchesSchema,
  OperatorError,
  type OperatorVerbs,
  type RequestOf,
  type VerbTable,
} from './verbs.ts';

const TIMEOUT_MS = 30_000;

/** Nobody answers on the socket. */
export class OperatorUnreachableError extends Error {
  override readonly name = 'OperatorUnreachableError';
}

/** Has the server on that socket carry out the verb. Throws OperatorError for what it refuses, OperatorUnreachableError. */
export async function askOperator<Table extends VerbTable, Verb extends keyof Table & string>(
  path: string,
  { service, verbs }: OperatorVerbs<Table>,
  verb: Verb,
  request: RequestOf<Table, Verb>,
): Promise<AnswerOf<Table, Verb>> {
  checkSocketPath(path);
  const { status, body } = await post(path, `/${service}/${verb}`, JSON.stringify(request));
  if (status !== 200) {
    const hasMessage = typeof body === 'object' && body !== null && 'message' in body;
    throw new OperatorError(hasMessage ? String(body.message) : `The server answered with status ${status}.`);
  }
  if (verbs[verb] !== undefined && matchesSchema(verbs[verb].answer, body)) return body as AnswerOf<Table, Verb>;
  throw new OperatorError('The server’s answer is not understood: it is of another version.');
}

async function post(socketPath: string, path: string, text: string): Promise<{ status: number; body: unknown }> {
  const asked = nodeHttp.request({
    socketPath,
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    signal: abortAfter(TIMEOUT_MS),
  });
  try {
    asked.end(text);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    let answered = '';
    for await (const chunk of response.setEncoding('utf8')) answered += String(chunk);
    return { status: response.statusCode ?? 0, body: JSON.parse(answered) };
  } catch (error) {
    throw new OperatorUnreachableError(`no server answers on ${socketPath}`, { cause: error });
  }
}
