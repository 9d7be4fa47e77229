import { ApiError } from '../../../kernel/http/errors.ts';
import {
  type OpenAiPageRequest,
  openAiPageReply,
  placeNotFound,
  readOpenAiPage,
  scanOf,
} from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { listAgentReferences } from './reference-store.ts';
import { renderVersion, versionId } from './render-skill.ts';
import type { SkillListQuery, SkillPath } from './schema.ts';
import { findSkill, listVersions as listRows, type SkillRow } from './store.ts';

export async function listVersions({ db, params, query }: ProjectRead<{ params: SkillPath; query: SkillListQuery }>) {
  const page = readOpenAiPage(query);
  const skill = await findSkill(db, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  const { from, direction } = scanOf(page);
  const place = from === undefined ? undefined : findPlace(page, skill, from);
  const { rows, isCut } = await listRows(db, skill.id, { limit: page.limit, from: place, direction });
  const agents = await listAgentReferences(db, skill.id);
  return openAiPageReply(rows, page, (row) => renderVersion(row, agents, skill.default_version), isCut);
}

/** The version that the id of a version names, also of one that was deleted: numbers are given once, in order. */
function findPlace(page: OpenAiPageRequest, skill: SkillRow, id: string): number {
  const version = Number(/@([1-9]\d{0,9})$/.exec(id)?.[1]);
  if (version <= skill.latest_version && id === versionId(skill.id, version)) return version;
  throw placeNotFound(page);
}
