/** A turn's answer, spoken while it is written. */
import type { MessageSocket } from '../../../kernel/http/socket.ts';
import type { Engine, RunRow, ShownFrame } from '../../engine/index.ts';
import { FAILED_SENTENCE, PAUSED_CALL_SENTENCE } from '../sentences.ts';
import { SpeechText } from './speech-text.ts';

/** `run.started`. */
const FIRST_FRAME = 1;
const CLOSING: Readonly<Record<string, string>> = {
  'run.completed': '',
  'run.cancelled': '',
  'run.failed': FAILED_SENTENCE,
  'run.paused': PAUSED_CALL_SENTENCE,
};

/** Resolves when the answer is said, `stop` has fired, or the call is over. */
export async function speakAnswer(
  engine: Engine,
  socket: MessageSocket,
  run: RunRow,
  stop: AbortSignal,
): Promise<void> {
  const speech = new SpeechText();
  let behind = false;
  let step: unknown;
  const say = (token: string, last: boolean): void => {
    if (stop.aborted || (token === '' && !last)) return;
    behind = !sayToken(socket, token, last);
  };
  const show = ({ type, data }: ShownFrame): void => {
    const closing = CLOSING[type];
    if (closing !== undefined) {
      const rest = speech.end();
      say(rest !== '' && closing !== '' ? `${rest} ${closing}` : rest + closing, true);
    } else if (type === 'message.delta') {
      // Between what is said before and after calls of tools.
      const gap = step !== undefined && step !== data.step ? '\n' : '';
      step = data.step;
      say(speech.push(gap + String(data.text)), false);
    }
  };
  await engine.follow(
    { projectId: run.project_id, smithId: run.smith_id, runId: run.id },
    FIRST_FRAME,
    {
      write(frames) {
        for (const frame of frames) show(frame);
        return !behind;
      },
      get behind() {
        return behind;
      },
      async drained() {
        await socket.drained();
        behind = false;
      },
    },
    AbortSignal.any([socket.closed, stop]),
  );
}

/** False: the other side is behind. */
export function sayToken(socket: MessageSocket, token: string, last: boolean): boolean {
  return socket.send(JSON.stringify({ type: 'text', token, last }));
}
