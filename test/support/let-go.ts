/**
 * What is closed is let go of: the variables of a test file live as long as its process, which runs others after it, and a hundred
 * closed servers in memory make each collection of garbage longer.
 */
interface Closable {
  close(): Promise<void>;
}

const closed = async (): Promise<void> => undefined;

/** The same object; once it is closed it has none of its members but what is text, and closing it again does nothing. */
export function lettingGo<Server extends Closable>(server: Server): Server {
  const close = server.close.bind(server);
  const closeAndLetGo = async (): Promise<void> => {
    await close();
    for (const [name, member] of Object.entries(server)) {
      if (typeof member !== 'string') Reflect.deleteProperty(server, name);
    }
    Object.assign(server, { close: closed });
  };
  return Object.assign(server, { close: closeAndLetGo });
}
