import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { Engine } from '../../engine/index.ts';
import { checkUnusedInclude, foldStored, getResponseSegment, streamResponse } from '../../surfaces/openai/index.ts';
import type { Response, ResponsePath, ResponseQuery } from './schema.ts';

type Request = ProjectRead<{ params: ResponsePath; query: ResponseQuery }>;

export function getResponse(engine: Engine) {
  return async ({ db, caller, params, query }: Request): Promise<HttpReply<Response> | EventStream> => {
    const segment = await getResponseSegment(db, caller, params.id);
    const include = readInclude(query);
    const headers = checkUnusedInclude(include);
    if (query.stream === true) {
      return streamResponse(engine, segment, { after: query.starting_after, include, headers });
    }
    if (query.starting_after !== undefined) {
      throw new ApiError('invalid_request', {
        param: 'starting_after',
        message: '`starting_after` says where a stream goes on. Add `stream=true`.',
      });
    }
    const { response } = await foldStored(db, segment, include);
    return new HttpReply(200, response as Response, headers);
  };
}

/** Clients write a list as `include[]`, as a repeated `include`, or with indexes. */
function readInclude(query: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(query).flatMap(([name, value]) =>
    /^include(\[\d*\])?$/.test(name) ? [value].flat().map(String) : [],
  );
}
