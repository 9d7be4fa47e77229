/** What people enter to answer the questions of calls, held against what was asked for. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import type { Engine } from '../engine.ts';
import type { Submission } from './submission.ts';

/**
 * The submissions, each answer to a question with the defaults that its schema names for what it leaves out. Throws
 * `invalid_input` for an answer that the schema does not take.
 */
export async function checkAnswers(
  engine: Pick<Engine, 'db' | 'schemas'>,
  run: { readonly projectId: string; readonly runId: string },
  submissions: readonly Submission[],
): Promise<readonly Submission[]> {
  const checked: Submission[] = [];
  for (const submission of submissions) {
    const schema = submission.kind === 'approval' ? await findRequestedSchema(engine, run, submission) : undefined;
    if (submission.kind !== 'approval' || schema === undefined) checked.push(submission);
    else if (submission.decision === 'reject') checked.push({ ...submission, content: null });
    else checked.push({ ...submission, content: await checkAnswer(engine, run.projectId, schema, submission.content) });
  }
  return checked;
}

type Decision = Extract<Submission, { kind: 'approval' }>;

/** Undefined: nothing is asked there, and whoever records the decision says what is wrong, if anything is. */
async function findRequestedSchema(
  { db }: Pick<Engine, 'db'>,
  { projectId, runId }: { readonly projectId: string; readonly runId: string },
  { approvalId, toolCallId }: Decision,
): Promise<JsonObject | undefined> {
  const { rows } = await db.query<{ schema: JsonObject }>({
    text: `
      select elicitation -> 'requested_schema' as schema from approvals
      where project_id = $1 and run_id = $2 and case when $3::text is null then tool_call_id = $4 else id = $3 end
        and status = 'pending' and elicitation is not null`,
    values: [projectId, runId, approvalId ?? null, toolCallId ?? null],
  });
  return rows[0]?.schema;
}

async function checkAnswer(
  { schemas }: Pick<Engine, 'schemas'>,
  projectId: string,
  schema: JsonObject,
  content: JsonObject | null,
): Promise<JsonObject> {
  const answer = { ...defaultsOf(schema), ...content };
  const found = await schemas.findAnswerProblem(projectId, schema, JSON.stringify(answer));
  if (found === undefined) return answer;
  throw new ApiError('invalid_input', {
    param: 'content',
    message: `\`content\` is not what the question asks for: ${found.problem}. See \`elicitation.requested_schema\` of the approval.`,
  });
}

/** Questions are asked with flat objects: each member has its own default. */
function defaultsOf({ properties }: JsonObject): JsonObject {
  if (typeof properties !== 'object' || properties === null) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) =>
      typeof property === 'object' && property !== null && 'default' in property ? [[name, property.default]] : [],
    ),
  );
}
