"""Possession: which nouns take a possessive (my teacher, but the thief), what each is part of, and what each has."""

from viz_core.training.corpus.lexicon import Noun

RELATIONAL_NOUNS = frozenset({
    "friend", "boyfriend", "girlfriend", "partner", "neighbour", "neighbor", "guest", "boss", "teacher", "doctor", "student",
    "classmate", "roommate", "colleague", "coach", "dentist", "hero", "team", "class", "family", "club", "company", "teammate",
    "assistant", "lawyer", "penfriend", "pen pal", "deskmate", "flatmate", "schoolmate", "tutor", "manager", "secretary",
    "customer", "patient", "owner", "fan",
})
"""Persons and groups, besides the family, that take a possessive: my boss, but the thief."""
_OWN_PLACES = frozenset({
    "home", "house", "room", "bedroom", "bathroom", "kitchen", "living room", "classroom", "garden", "yard", "balcony", "office",
    "school", "flat", "apartment", "university", "garage", "shop", "farm", "hotel", "village", "town", "street", "desk", "studio",
    "kindergarten", "study", "middle school", "high school", "primary school", "dormitory", "dorm", "neighborhood", "restaurant",
    "bookstore", "address",
})
"""Places that take a possessive: my school, but the museum."""
PLURAL_KIN = frozenset({
    "parents", "grandparents", "child", "kid", "baby", "son", "daughter", "brother", "sister", "uncle", "aunt", "cousin",
    "relative", "twins", "grandson", "granddaughter", "grandchild", "nephew", "niece",
})
"""Relatives of whom one may have several."""
_NEVER_OWNED = ("nature", "weather", "country", "city", "month", "weekday", "season", "way", "price", "number")
WHOLES = {
    "part": "furniture building room vehicle city animal", "quality": "person building city thing", "price": "thing food clothes",
    "group": "city country", "idea": "person group", "body": "animal", "room": "building", "speech": "person reading",
    "job": "group city country", "family": "person",
}
"""The wholes that nouns of each class belong to: the door of a building, the price of food."""
POSSESSIONS = {
    "person": "clothes worn 'hair' 'eye' pet", "building": "room 'garden' 'door' 'window' 'roof'", "room": "furniture 'window'",
    "animal": "'tail' 'ear' 'leg' 'nose'", "furniture": "'leg' 'drawer'", "clothes": "'pocket' 'button'", "city": "building place",
    "drink": "'milk' 'sugar' 'ice'", "food": "'egg' 'cheese' 'meat'",
}
"""What nouns of each class have: a room with a window, the girl with long hair."""


def takes_possessive(noun: Noun) -> bool:
    """Whether the noun commonly follows my, your or his."""
    if noun.is_a("person", "group"):
        return noun.is_a("family") or noun.english in RELATIONAL_NOUNS
    if noun.is_a("building", "place", "room"):
        return noun.english in _OWN_PLACES
    return not noun.is_a(*_NEVER_OWNED) and (not noun.is_a("animal", "bird") or noun.is_a("pet"))
