import { isAcceptanceLive, isNoticeOf } from '../../claims-notices.ts';
import type { DomainCreateCommand } from '../commands/domain-commands.ts';
import { EppFault } from '../epp-fault.ts';
import type { CommandContext } from './answers.ts';

/** Throws where a name that a trademark claims comes without a notice that is its own, still valid, and accepted a short while ago; or another with one. */
export function checkNotice({ clock, habits }: CommandContext, { name, notice }: DomainCreateCommand): void {
  const isClaimed = habits.claims?.has(name) === true;
  if (notice === undefined) {
    if (isClaimed) throw new EppFault(2306, 'the name needs an accepted notice');
    return;
  }
  if (!isClaimed) throw new EppFault(2306, 'launch: no trademark claims the name');
  const label = name.slice(0, name.indexOf('.'));
  if (!isNoticeOf(label, { id: notice.noticeId, notAfter: new Date(notice.notAfter) })) {
    throw new EppFault(2306, 'launch: the notice is of another name');
  }
  if (!isAcceptanceLive(notice, clock.now()))
    throw new EppFault(2306, 'launch: the notice, or its acceptance, has ended');
}
