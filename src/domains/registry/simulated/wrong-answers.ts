/**
 * Answers that are wrong, as those of real registries are now and then: a name that is there is refused as if it were not (2303), or
 * were another registrar's (2201), or the command fails for no reason that is told (2400). It is not carried out then. `check` shows what is wrongly not there as free.
 */
import { mintId } from '../../../kernel/ids/ids.ts';
import { resultMessages } from '../result-codes.ts';
import type { RegistryCore, Reply, Session } from './registry-core.ts';

export type WrongCode = 2201 | 2303 | 2400;
/** `transfer`: a request or a query; `decide`: what the registrar that has the name says to a request. */
export type NamedCommand =
  | 'check'
  | 'info'
  | 'create'
  | 'renew'
  | 'transfer'
  | 'decide'
  | 'trade'
  | 'update'
  | 'delete'
  | 'restore';

/** What a command about a name is answered wrongly with; undefined: rightly. */
export type ChooseWrongAnswer = (command: NamedCommand, name: string) => WrongCode | undefined;

/** The registry, with answers that are wrong where `choose` says so. */
export function answerWrongly(core: RegistryCore, choose: ChooseWrongAnswer): RegistryCore {
  type Work<Command, Data> = (session: Session, command: Command) => Promise<Reply<Data>>;
  const sometimes =
    <Command extends { readonly name: string }, Data>(
      kind: NamedCommand,
      work: Work<Command, Data>,
    ): Work<Command, Data> =>
    async (session, command) => {
      const code = choose(kind, command.name.toLowerCase());
      return code === undefined ? work(session, command) : refuse(code, command.name);
    };
  return {
    ...core,
    async checkDomains(session, names) {
      const reply = await core.checkDomains(session, names);
      if (!reply.ok) return reply;
      const data = reply.data.map((found) =>
        found.state === 'taken' && choose('check', found.name) === 2303
          ? ({ ...found, state: 'available' } as const)
          : found,
      );
      return { ...reply, data };
    },
    infoDomain: sometimes('info', core.infoDomain),
    createDomain: sometimes('create', core.createDomain),
    renewDomain: sometimes('renew', core.renewDomain),
    requestTransfer: sometimes('transfer', core.requestTransfer),
    queryTransfer: sometimes('transfer', core.queryTransfer),
    approveTransfer: sometimes('decide', core.approveTransfer),
    rejectTransfer: sometimes('decide', core.rejectTransfer),
    requestTrade: sometimes('trade', core.requestTrade),
    queryTrade: sometimes('trade', core.queryTrade),
    updateDomain: sometimes('update', core.updateDomain),
    deleteDomain: sometimes('delete', core.deleteDomain),
    restoreDomain: sometimes('restore', core.restoreDomain),
    reportRestore: sometimes('restore', core.reportRestore),
  };
}

function refuse(code: WrongCode, name: string) {
  const reason = {
    2201: `${name} is another registrar’s`,
    2303: `there is no name ${name}`,
    2400: 'something is wrong here',
  }[code];
  return { ok: false, code, message: resultMessages[code], svTRID: mintId('sim'), reason } as const;
}
