/** Sets an execution up with what it needs, and lets it run. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Credits } from '../../billing/index.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../../models/catalogue.ts';
import { type ChatModel, findModel, loadModelKeys, type ModelCallLimits } from '../../models/index.ts';
import type { ForeignSchemas } from '../../schemas/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { RequestServers } from '../../tools/request-servers.ts';
import type { ToolSource } from '../../tools/tool.ts';
import { loadAttachedFiles, type TurnFiles } from '../input/attached-files.ts';
import type { Admission } from '../replica/admission.ts';
import type { HeldQuestions } from '../replica/held-questions.ts';
import type { RunRow } from '../store/run-row.ts';
import type { TurnWriter } from '../store/turn-writer.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { TurnKey } from '../turn.ts';
import { executeTurn } from './execute-turn.ts';
import { listTurnTools } from './list-turn-tools.ts';
import type { ModelOpener } from './open-turn-model.ts';
import type { TurnState } from './turn-state.ts';

export interface ExecutionDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly replicaId: string;
  readonly turns: TurnWriter;
  readonly held: Pick<HeldQuestions, 'add'>;
  readonly models: ModelOpener;
  readonly schemas: ForeignSchemas;
  readonly toolSources: readonly ToolSource[];
  readonly files: TurnFiles;
  readonly requestServers: RequestServers;
  readonly credits: Credits;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits> | undefined;
  /** How long a model call waits for others to give back what they reserved of a budget; a default where undefined. */
  readonly budgetWaitMs?: number | undefined;
  /** Writes pending frames now. */
  readonly flush: () => Promise<void>;
}

/** A turn whose row this replica holds. */
export interface Execution {
  readonly key: TurnKey;
  readonly lastSeq: number;
  readonly state: Omit<TurnState, 'contextWindow' | 'maxOutputTokens'>;
  /** The place that was taken for it; without one it runs beyond the limit. */
  readonly admission?: Admission;
  /** The opened model, when the caller has it already. */
  readonly model?: ChatModel;
  /** The statement that starts the turn, where it is still under way; the execution ends with it where it fails. */
  readonly starting?: Promise<unknown>;
  /** Set where an earlier attempt was cut off: what `run.restarted` says. */
  readonly restarted?: Record<string, unknown>;
  /** Nobody reads along: the model may be asked for buffered answers. Absent: they are streamed. */
  readonly buffered?: boolean;
}

/** As `executeTurn`. */
export function startExecution(
  deps: ExecutionDependencies,
  live: LiveTurn,
  { key, state, model, restarted, buffered = false }: Execution,
): Promise<RunRow | undefined> {
  const { projectId, smithId } = key;
  const { config } = state;
  const known = findModel(config.model);
  // An attempt before this one may have left a reservation.
  if (restarted !== undefined) state.budgets.hasLeftover = true;
  return executeTurn(
    {
      db: deps.db,
      replicaId: deps.replicaId,
      turns: deps.turns,
      held: deps.held,
      logger: deps.logger,
      modelCall: deps.modelCall,
      budgetWaitMs: deps.budgetWaitMs,
      credits: deps.credits,
      flush: deps.flush,
      schemas: deps.schemas,
      openModel: async () =>
        model ?? deps.models.open(projectId, config.model, await loadModelKeys(tenantDb(deps.db, projectId), smithId)),
      loadFiles: (prompt) => loadAttachedFiles(deps.files, projectId, prompt),
      requestServers: deps.requestServers,
      listTools: (lists) => listTurnTools(deps.toolSources, key, config, lists),
      restarted: restarted !== undefined,
      buffered,
    },
    live,
    {
      ...state,
      contextWindow: known?.contextWindow ?? DEFAULT_CONTEXT_WINDOW,
      maxOutputTokens: known?.maxOutputTokens,
    },
  );
}
