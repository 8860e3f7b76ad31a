// Questions to the server. An answer is a value; what went wrong is one too: {error, status}.

/** The answer to a GET, or {error}. */
export function get(path) {
  return ask(path, {});
}

/** The answer to a POST of `body`, or {error}; null where `signal` gave it up. */
export function post(path, body, signal) {
  return ask(path, {
    method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' }, signal,
  });
}

async function ask(path, options) {
  try {
    const response = await fetch(path, options);
    const answer = await response.json();
    if (!response.ok && !answer.error) return { error: response.statusText, status: response.status };
    return response.ok ? answer : { ...answer, status: response.status };
  } catch (failure) {
    return failure.name === 'AbortError' ? null : { error: '', status: 0 };
  }
}

/** One question at a time: a newer one gives the older one up, whose answer is then never seen. */
export class Latest {
  post(path, body) {
    this.abort();
    const mine = new AbortController();
    this._controller = mine;
    return post(path, body, mine.signal).then(answer => (mine.signal.aborted ? null : answer));
  }

  abort() {
    this._controller?.abort();
    this._controller = null;
  }
}
