"""Evaluate a LangChain chain with provided documents and end to end with its retriever.

pip install langchain-core
ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
ragbed run -m python/langchain_rag:answer -d ragbed-mini-en_base --testbeds noise,own-retrieval --noise 0
"""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from local_model import chat  # in your system: ChatOpenAI, ChatOllama, …
from own_retrieval import search  # in your system: a vector store's as_retriever()

PROMPT = PromptTemplate.from_template(
    "Answer from these documents, or say that they do not suffice.\n\n{context}\n\nQuestion: {question}"
)
chain = PROMPT | RunnableLambda(lambda prompt: chat(prompt.to_string()))


class CorpusRetriever(BaseRetriever):
    """Retrieves passages from an exported corpus and keeps their ids."""

    corpus: str
    k: int

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(page_content=passage["text"], id=passage["id"]) for passage in search(self.corpus, query, self.k)
        ]


def answer(question: str, lang: str, documents: list[str] | None = None, corpus: str = "", k: int = 5) -> object:
    """Answer a question from the given documents, or from passages that are retrieved from a corpus."""
    if documents is None:
        found = CorpusRetriever(corpus=corpus, k=k).invoke(question)
    else:
        found = [Document(page_content=text) for text in documents]
    context = "\n".join(document.page_content for document in found)
    response = chain.invoke({"context": context, "question": question})
    return {"answer": response, "retrieved": [{"id": document.id, "text": document.page_content} for document in found]}
