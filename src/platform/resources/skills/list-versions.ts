import { ApiError } from '../../../kernel/http/errors.ts';
import {
  type OpenAiPageRequest,
  openAiPageReply,
  placeNotFound,
  readOpenAiPage,
  scanOf,
} from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { listAgentReferences } from './reference-store.ts';
import { renderVersion, versionId } from './render-skill.ts';
import type { SkillListQuery, SkillPath } from './schema.ts';
import { findSkill, findVersion, listVersions as listRows } from './store.ts';

export async function listVersions({ db, params, query }: ProjectRead<{ params: SkillPath; query: SkillListQuery }>) {
  const page = readOpenAiPage(query);
  const skill = await findSkill(db, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  const { from, direction } = scanOf(page);
  const place = from === undefined ? undefined : await findPlace(db, page, skill.id, from);
  const { rows, isCut } = await listRows(db, skill.id, { limit: page.limit, from: place, direction });
  const agents = await listAgentReferences(db, skill.id);
  return openAiPageReply(rows, page, (row) => renderVersion(row, agents, skill.default_version), isCut);
}

/** The version that the id of a version names. */
async function findPlace(db: TenantDb, page: OpenAiPageRequest, skillId: string, id: string): Promise<number> {
  const version = Number(/@([1-9]\d{0,9})$/.exec(id)?.[1]);
  const isOwn = Number.isSafeInteger(version) && version < 2 ** 31 && id === versionId(skillId, version);
  if (isOwn && (await findVersion(db, skillId, version)) !== undefined) return version;
  throw placeNotFound(page);
}
