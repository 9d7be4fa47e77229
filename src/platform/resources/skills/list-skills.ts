import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { hasTombstone } from '../../store/tombstones.ts';
import { renderSkill } from './render-skill.ts';
import type { SkillListQuery } from './schema.ts';
import { findSkill, listSkills as listRows } from './store.ts';

export async function listSkills({ db, query }: ProjectRead<{ query: SkillListQuery }>) {
  const page = readOpenAiPage(query);
  await requirePlace(page, async (id) => {
    return (await findSkill(db, id)) !== undefined || hasTombstone(db, 'skill', id, undefined);
  });
  return openAiPageReply(await listRows(db, { limit: page.limit, ...scanOf(page) }), page, renderSkill);
}
