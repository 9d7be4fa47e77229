import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderSkill } from './render-skill.ts';
import type { SkillListQuery } from './schema.ts';
import { findSkill, listSkills as listRows } from './store.ts';

export async function listSkills({ db, query }: ProjectRead<{ query: SkillListQuery }>) {
  const page = readOpenAiPage(query);
  await requirePlace(page, (id) => findSkill(db, id));
  return openAiPageReply(await listRows(db, { limit: page.limit, ...scanOf(page) }), page, renderSkill);
}
