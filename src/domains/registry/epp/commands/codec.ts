import type { XmlElement } from '../xml/element.ts';

/** A command's parts on the wire: the object's element, and what stands in `extension` beside it. */
export interface CommandParts {
  readonly object: XmlElement;
  readonly extensions: readonly XmlElement[];
  /** The `op` attribute, for transfer. */
  readonly operation?: string | undefined;
}

/** One command as a value and on the wire; client and server share it. `decode` throws `EppFault`. */
export interface Codec<Command> {
  encode(command: Command): CommandParts;
  decode(parts: CommandParts): Command;
}
