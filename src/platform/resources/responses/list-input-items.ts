import {
  type OpenAiPageRequest,
  openAiPageReply,
  placeNotFound,
  readOpenAiPage,
  scanOf,
} from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { getResponseSegment, listInputItems as listItems, type OutputItem } from '../../surfaces/openai/index.ts';
import type { InputItemQuery, ResponsePath } from './schema.ts';

type Request = ProjectRead<{ params: ResponsePath; query: InputItemQuery }>;

export async function listInputItems({ db, caller, params, query }: Request) {
  const page = readOpenAiPage(query);
  const items = listItems(await getResponseSegment(db, caller, params.id));
  return openAiPageReply(selectPage(items, page), page, (item) => item);
}

/** Throws `invalid_cursor` for an id that the list does not hold. */
function selectPage(items: readonly OutputItem[], page: OpenAiPageRequest): OutputItem[] {
  const { from, direction } = scanOf(page);
  const ordered = direction === 'asc' ? items : items.toReversed();
  const place = from === undefined ? -1 : ordered.findIndex(({ id }) => id === from);
  if (from !== undefined && place === -1) throw placeNotFound(page);
  return ordered.slice(place + 1, place + 2 + page.limit);
}
