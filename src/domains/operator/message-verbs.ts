/** What an operator does about messages of the registry that nothing follows from by itself. */
import type { Database } from '../../kernel/db/database.ts';
import { OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import { dismissMessage, listUnknownMessages, listUnreadableQueues } from '../orders/index.ts';
import { systemDb } from '../workspace-scope.ts';
import type { DomainVerbs } from './verbs.ts';

const LISTED = 1_000;

type MessageVerbs = Pick<VerbHandlers<DomainVerbs>, 'unknown_messages' | 'dismiss_message'>;

export function createMessageVerbs({ db }: { readonly db: Database }): MessageVerbs {
  return {
    async unknown_messages() {
      const [rows, queues] = await Promise.all([
        listUnknownMessages(systemDb(db), LISTED),
        listUnreadableQueues(systemDb(db)),
      ]);
      return {
        messages: rows.map(({ number, registry, message_id, queued_at, received_at, name, text, further_ids }) => ({
          number,
          registry,
          message_id,
          queued_at: queued_at.toISOString(),
          received_at: received_at.toISOString(),
          name,
          text,
          times: 1 + further_ids.length,
        })),
        unreadable: queues.map(({ since, ...queue }) => ({ ...queue, since: since.toISOString() })),
      };
    },
    async dismiss_message({ number }) {
      if (await dismissMessage(systemDb(db), number)) return { number };
      throw new OperatorError(`There is no message ${number}. See: domains message list.`);
    },
  };
}
